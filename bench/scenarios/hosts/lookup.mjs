// A host for each store, on every machine: not every one resolves *.localhost.
import dns from "node:dns";

dns.lookup = (_host, options, done = options) => {
  const [address, family] = ["127.0.0.1", 4];
  if (options.all) done(null, [{ address, family }]);
  else done(null, address, family);
};

export const prefixOf = (store) => `store-${store}`;
/** As `baseUrl` is. */
export const templateAt = (port) => `http://{domain_prefix}.localhost:${port}`;
