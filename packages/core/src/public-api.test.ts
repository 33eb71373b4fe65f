import { expect, test } from "vitest";
import * as core from "./index.js";

test("the public names are these; a wider API is a line somebody saw in review", () => {
  expect(Object.keys(core).sort()).toMatchInlineSnapshot(`
    [
      "ClientRefusedError",
      "InvalidDomainPrefixError",
      "NotConnectedError",
      "RateLimitedError",
      "ReconnectRequiredError",
      "RetailPosError",
      "RetailerNotAcceptedError",
      "StoreFailedError",
      "StoredTokensError",
      "TokenEndpointError",
      "TokenResponseError",
      "isRetailPosError",
      "leaseLock",
      "memoryLock",
      "memoryStore",
      "parseDomainPrefix",
      "parseRateLimit",
      "personalToken",
      "requestBearer",
      "retailPos",
      "retailerStatus",
      "settingsFromEnv",
      "storeFailure",
      "storePages",
    ]
  `);
});
