import { expect, test } from "vitest";
import { Line, type Waiting } from "./queue.js";

const waiting = (number: number): Waiting => ({ number, waitLeftMs: 0, start() {}, fail() {} });
const numbers = (line: Line) => [...line].map(({ number }) => number);

test("calls stand in the order of their numbers, however they come", () => {
  const line = new Line();
  line.add(waiting(4));
  line.add(waiting(2), waiting(3), waiting(7));
  line.add(waiting(1));
  line.add();
  line.add(waiting(5), waiting(6), waiting(8));
  expect([numbers(line), line.size]).toEqual([[1, 2, 3, 4, 5, 6, 7, 8], 8]);
  expect(line.first?.number).toBe(1);
});

test("one leaves from the front, the middle and the back", () => {
  const line = new Line();
  const all = [1, 2, 3, 4, 5].map(waiting);
  line.add(...all);
  for (const index of [2, 0, 4]) line.remove(all[index] as Waiting);
  expect([numbers(line), line.size]).toEqual([[2, 4], 2]);
  line.add(waiting(3), waiting(5));
  expect(numbers(line)).toEqual([2, 3, 4, 5]);
});
