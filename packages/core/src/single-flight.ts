/** What is under way, by kind. */
type Flights<Kind extends string> = { [kind in Kind]: Promise<unknown> | undefined };

/**
 * Joins the work of this kind that is under way, or starts it: it is done once for all who ask at the same time.
 * If it fails, it fails for those who joined; the next caller starts anew.
 */
export function join<Kind extends string, Held extends Flights<Kind>>(
  flights: Held,
  kind: Kind,
  work: () => NonNullable<Held[Kind]>,
): NonNullable<Held[Kind]> {
  const underWay = flights[kind];
  if (underWay) return underWay;
  const flight = (async () => work())() as NonNullable<Held[Kind]>; // work that throws at once rejects
  const over = () => {
    (flights as Flights<Kind>)[kind] = undefined;
  };
  flights[kind] = flight;
  flight.then(over, over);
  return flight;
}
