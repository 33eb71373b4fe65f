/** The command cannot be what somebody meant; nothing was done. Exit code 2. */
export class WrongUse extends Error {}
