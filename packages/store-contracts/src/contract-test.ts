import type { TokenStore } from "@retail-pos/core";

/** How tests are declared: `test` of node:test or vitest, `it` of mocha or jest, or anything of this shape. */
export type ContractTest = (name: string, run: () => Promise<void>) => unknown;

/**
 * A test of a method that a store need not have. The other store is the same one, unless the test is about two of them.
 */
export type OptionalTest = readonly [
  name: string,
  run: (store: Required<TokenStore>, other: Required<TokenStore>) => Promise<void>,
];

/** A few turns of the event loop: enough for a wrong step to happen, if one is about to. */
export async function turns(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** A promise with its `resolve`: it holds work open without waiting for time to pass. */
export function gate(): { opened: Promise<void>; open: () => void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/**
 * The result of `promise`, or an error with this message after `ms`: a store that hangs must not hang the test run.
 */
export async function within<T>(ms: number, message: string, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${message} (waited ${ms} ms)`)), ms);
  });
  try {
    return await Promise.race([promise, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}
