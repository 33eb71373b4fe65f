// A program that calls many stores, each on a host of its own with TLS, as in life. Run by
// test/stores-on-hosts.long.test.ts on each Node, with the certificate in NODE_EXTRA_CA_CERTS; prints what came of it.
import { readFileSync } from "node:fs";
import "../../bench/scenarios/hosts/lookup.mjs"; // not every machine resolves *.localhost
import { retailPos } from "@retail-pos/core";
import { retailFetch } from "@retail-pos/fetch";
import { startSandbox } from "@retail-pos/sandbox";

const [keyFile, certFile] = process.argv.slice(2);
const names = [];
const sandbox = await startSandbox({
  hostPerStore: true,
  tls: {
    key: readFileSync(keyFile),
    cert: readFileSync(certFile),
    SNICallback(name, done) {
      names.push(name);
      done(null);
    },
  },
});
const stores = sandbox.stores.slice(0, 3).map(({ domainPrefix }) => domainPrefix);
const fetch = retailFetch();
const { authUrl, baseUrl, application } = sandbox;
const pos = retailPos({ ...application, authUrl, baseUrl, fetch });
const opened = () => sandbox.connectionsOpened;

for (const store of stores) {
  const code = sandbox.consent(pos.authorizationUrl("a-state-of-this-test"), store).searchParams.get("code");
  await pos.connect(await pos.exchange(store, code));
}
const byLogins = opened();
const namesOfLogins = names.splice(0);

for (const _ of [1, 2, 3]) {
  for (const store of stores) {
    const { data } = await (await pos.retailer(store).fetch("api/retailer")).json();
    if (data.domain_prefix !== store) throw new Error(`${store} was answered by ${data.domain_prefix}`);
  }
}
const byCalls = opened() - byLogins;

const burst = await Promise.all(
  Array.from({ length: 200 }, async () => (await pos.retailer(stores[0]).fetch("api/products")).text()),
);
const byBurst = opened() - byLogins - byCalls;

// A certificate that is made out to other names: nothing is sent to who is somebody else.
const stranger = await fetch(baseUrl.replace("{domain_prefix}", "second-hand")).catch(
  ({ cause }) => cause.code,
);

await fetch.close();
await sandbox.close();
console.log(
  JSON.stringify({
    byLogins,
    byCalls,
    byBurst,
    served: burst.length,
    names: [...new Set(namesOfLogins)].sort(),
    stores: [...stores].sort(),
    stranger,
  }),
);
