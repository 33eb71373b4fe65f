/** Work that many may ask for at once and that is done once for all of them. */
export interface SingleFlight<T> {
  /** Joins the work under way, or starts it. What fails, fails for those who joined, and for nobody after. */
  join(work: () => Promise<T>): Promise<T>;
  /** What is under way, if anything is. */
  readonly underWay: Promise<T> | undefined;
}

export function singleFlight<T>(): SingleFlight<T> {
  let underWay: Promise<T> | undefined;
  return {
    get underWay() {
      return underWay;
    },
    join(work) {
      if (underWay) return underWay;
      const flight = (async () => work())(); // work that throws at once rejects
      const over = () => {
        underWay = undefined;
      };
      underWay = flight;
      flight.then(over, over);
      return flight;
    },
  };
}
