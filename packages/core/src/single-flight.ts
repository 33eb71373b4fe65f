/**
 * Starts work that others may join until it is over. If it fails, it fails for those who joined; the next caller starts
 * anew.
 *
 * @param over is called when the work has settled, before those who joined go on.
 */
export function untilOver<T>(work: () => Promise<T>, over: () => void): Promise<T> {
  const flight = (async () => work())(); // work that throws at once rejects
  flight.then(over, over);
  return flight;
}
