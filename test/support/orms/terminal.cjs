// `prisma migrate dev` runs at a terminal only.
process.stdin.isTTY = true;
