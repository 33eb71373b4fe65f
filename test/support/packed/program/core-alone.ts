import assert from "node:assert/strict";
import {
  isRetailPosError,
  memoryLock,
  memoryStore,
  personalToken,
  type RetailerClient,
  retailPos,
} from "@retail-pos/core";
import { startSandbox } from "@retail-pos/sandbox";

const retailer = "harbour-coffee";

/** No framework: a code for tokens, calls, an error, and a Personal Token. */
export async function coreAlone(): Promise<void> {
  const sandbox = await startSandbox({ rotation: "always" });
  const { authUrl, baseUrl, application } = sandbox;
  const pos = retailPos({ authUrl, baseUrl, ...application, store: memoryStore(), lock: memoryLock() });

  const asked = pos.authorizationUrl("a state nobody guesses");
  const code = sandbox.consent(asked, retailer).searchParams.get("code") ?? "";
  await pos.connect(await pos.exchange(retailer, code));
  await expectProducts(pos.retailer(retailer));

  sandbox.expire(retailer); // the client learns it from a 401
  await expectProducts(pos.retailer(retailer));

  const error = await pos
    .retailer("second-chapter")
    .token()
    .catch((reason: unknown) => reason);
  assert(isRetailPosError(error));
  assert.equal(error.code, "not_connected");

  const token = sandbox.createPersonalToken(retailer);
  await expectProducts(personalToken({ baseUrl, domainPrefix: retailer, token }));
  await sandbox.close();
}

async function expectProducts(client: RetailerClient): Promise<void> {
  const answer = await client.fetch("api/products");
  assert.match(await answer.text(), /House espresso/);
}
