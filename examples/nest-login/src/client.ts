/** Where to ask Nest for what `retailPos()` returned. */
export const CLIENT = Symbol("the client");
