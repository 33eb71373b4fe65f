import { ChildProcess } from "node:child_process";
import { Server, Socket } from "node:net";

// The fast lane: whoever starts or reaches something outside this process is told where the test belongs.

const parts = [
  [Server.prototype, "listen", "a server"],
  [Socket.prototype, "connect", "a connection"],
  [ChildProcess.prototype, "spawn", "another process"],
] as const;

for (const [prototype, method, part] of parts) {
  Object.defineProperty(prototype, method, {
    value() {
      throw new Error(
        `This test runs in the fast lane and needs ${part}: add what it imports to test/support/lanes.ts`,
      );
    },
  });
}
