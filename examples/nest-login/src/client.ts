/** Where to ask Nest for what `retailPos()` returned. */
export const CLIENT = Symbol("the client");
/** Where to ask for the signal that is aborted when the process is to end. */
export const STOPPING = Symbol("stopping");
