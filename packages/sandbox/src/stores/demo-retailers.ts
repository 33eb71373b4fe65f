/** A store as people know it, and the domain prefix its addresses carry. */
export interface NamedStore {
  /** One DNS label. */
  readonly domainPrefix: string;
  /** The name on the consent page and in the console. */
  readonly name: string;
}

export interface Product {
  readonly id: string;
  readonly sku: string;
  readonly name: string;
  /** Decimal text, so that no client reads it as a binary fraction. */
  readonly price: string;
  readonly currency: string;
  readonly in_stock: number;
}

/** The stores of a sandbox nobody configured: six trades, then numbered corner stores. */
export function demoRetailers(count: number): NamedStore[] {
  return Array.from({ length: count }, (_, index) => {
    const trade = trades[index];
    if (trade) return { domainPrefix: trade.domainPrefix, name: trade.name };
    return { domainPrefix: `corner-store-${index + 1}`, name: `Corner Store ${index + 1}` };
  });
}

/** The products of one store. A store of the user's own gets the goods of one of the six trades. */
export function productsOf(domainPrefix: string, index: number): Product[] {
  const trade = trades.find((known) => known.domainPrefix === domainPrefix) ?? trades[index % trades.length];
  return (trade?.goods ?? []).map(([name, price, inStock], position) => ({
    id: `${domainPrefix}-${position + 1}`,
    sku: `${domainPrefix.slice(0, 3).toUpperCase()}-${String(position + 1).padStart(3, "0")}`,
    name,
    price,
    currency: "EUR",
    in_stock: inStock,
  }));
}

interface Trade extends NamedStore {
  readonly goods: readonly (readonly [name: string, price: string, inStock: number])[];
}

const trades: readonly Trade[] = [
  {
    domainPrefix: "harbour-coffee",
    name: "Harbour Coffee Roasters",
    goods: [
      ["House espresso, 250 g", "9.50", 64],
      ["Ethiopia Guji, filter, 250 g", "13.00", 22],
      ["Decaf, Sugar Cane Process, 250 g", "11.50", 17],
      ["Flat white", "3.90", 999],
      ["Cold brew, bottle", "4.80", 36],
      ["Hand grinder", "79.00", 5],
      ["Paper filters, 100", "6.20", 120],
      ["Enamel cup", "12.00", 31],
    ],
  },
  {
    domainPrefix: "second-chapter",
    name: "Second Chapter Books",
    goods: [
      ["The Lighthouse Keeper's Almanac", "18.00", 7],
      ["A Short History of Tides", "14.50", 12],
      ["Field Guide to City Birds", "22.00", 9],
      ["Second-hand crime, any three", "10.00", 40],
      ["Notebook, dotted, A5", "7.90", 58],
      ["Reading lamp, clip-on", "16.00", 11],
    ],
  },
  {
    domainPrefix: "rosas-bikes",
    name: "Rosa's Bicycle Workshop",
    goods: [
      ["Spring service", "69.00", 999],
      ["Inner tube, 28 inch", "6.50", 140],
      ["Touring tyre, 700 x 35", "34.90", 26],
      ["Chain, 9-speed", "19.50", 33],
      ["Leather saddle", "98.00", 4],
      ["Dynamo front light", "42.00", 13],
      ["Brass bell", "14.00", 21],
    ],
  },
  {
    domainPrefix: "plant-room",
    name: "The Plant Room",
    goods: [
      ["Monstera deliciosa, 40 cm", "29.00", 8],
      ["String of hearts", "15.50", 14],
      ["Terracotta pot, 17 cm", "8.00", 75],
      ["Peat-free soil, 10 l", "7.50", 48],
      ["Brass mister", "24.00", 10],
      ["Repotting, while you wait", "12.00", 999],
    ],
  },
  {
    domainPrefix: "little-sparks",
    name: "Little Sparks Toys",
    goods: [
      ["Marble run, starter", "39.00", 15],
      ["Wooden tram", "17.50", 28],
      ["Kite, sled, red", "12.90", 19],
      ["Shadow theatre", "26.00", 6],
      ["Juggling balls, three", "14.00", 37],
      ["Pocket kaleidoscope", "5.50", 82],
    ],
  },
  {
    domainPrefix: "north-wool",
    name: "North Wool Knitwear",
    goods: [
      ["Fisherman's sweater", "149.00", 12],
      ["Merino beanie", "32.00", 45],
      ["Alpaca scarf", "58.00", 20],
      ["Darning kit", "13.50", 30],
      ["Lambswool socks", "19.00", 88],
      ["Sock yarn, hand-dyed, 100 g", "24.50", 51],
    ],
  },
];
