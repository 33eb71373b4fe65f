// Which tests show that each attack of docs/threat-model.md is stopped; test/security.test.ts compares.

/** By attack, the first bold words of its row: files, and the beginnings of tests' names; none means the whole file. */
export const ATTACKS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  "Login CSRF": {
    "packages/passport-retail-pos/src/state/own-states.test.ts": [
      "somebody else's: refused here, and still good there",
    ],
    "packages/passport-retail-pos/src/request/callback-query.test.ts": [
      "that is the right one but for its last character is refused",
    ],
  },
  "Denying a login": {
    "packages/passport-retail-pos/src/state/own-states.test.ts": ["forged: the real one succeeds afterwards"],
    "packages/passport-retail-pos/src/request/callback-query.test.ts": [
      "access_denied is a failure, state or not, and leaves pending logins alone",
    ],
  },
  "A stranger's words on your page": {
    "packages/passport-retail-pos/src/request/callback-query.test.ts": [
      "that says declined, %s: its words are not repeated",
      "%s, and spends nothing",
    ],
  },
  "Locking a retailer out": {
    "test/forged-callbacks.test.ts": [
      "1,000 forged callbacks that name a store cost it no renewal, and its own login a moment",
    ],
  },
  "Displacing a pending login": {
    "packages/login/src/web-login.test.ts": [
      "a browser that asks ahead of a visit gets 503, no-store, and no login changes:",
      "by %s is 503, and pushes no login out",
    ],
    "test/matrix.test.ts": ["%s is 503 and changes no login"],
  },
  Replay: {
    "packages/passport-retail-pos/src/state/own-states.test.ts": [
      "ten identical callbacks at once: one token request, one of them logged in",
    ],
    "packages/passport-retail-pos/src/single-use.test.ts": [
      "is finished once by two processes that get the same callback",
      "a slow request that writes an old session back does not make a spent state good again",
    ],
  },
  "Mix-up of retailers": {
    "packages/passport-retail-pos/src/strategy.test.ts": [
      "and leave the shared _oauth2 as it was configured",
    ],
    "packages/core/src/tokens/stories/answers.test.ts": [
      "a domain_prefix of another retailer in a token response",
    ],
  },
  "Posting the secret to another host, SSRF": {
    "packages/core/src/vocabulary/domain-prefix.test.ts": [
      "every door refuses a hostile prefix, and neither the network, the store nor the lock hears of it:",
    ],
    "packages/core/src/login/retailer-acceptance.test.ts": [
      "refuses the login with an error of its own, and nothing is sent:",
    ],
  },
  "A redirecting token endpoint": {
    "packages/core/src/endpoint/stories/wire.test.ts": ["and its target never sees the body:"],
  },
  "Another retailer's data": {
    "packages/express-bearer/src/bearer.test.ts": [],
    "packages/koa-bearer/src/bearer.test.ts": [],
    "test/two-bearers.test.ts": [],
  },
  "The bearer on another origin": {
    "packages/core/src/client/stories/address.test.ts": [
      "an address outside baseUrl is a TypeError, and nothing is sent:",
      "a Request that lies about its address is sent where it was checked, or nowhere:",
    ],
    "packages/core/src/client/stories/redirect.test.ts": ["to another origin does not carry the bearer:"],
  },
  "The bearer at another retailer's address": {
    "packages/core/src/client/stories/redirect.test.ts": [
      "is returned, and another retailer's address never sees the bearer:",
    ],
  },
  "A call without a bearer": {
    "packages/core/src/client/stories/call.test.ts": [
      "without tokens is a NotConnectedError, and nothing is sent",
    ],
    "test/matrix.test.ts": ["without a login the API sees no call"],
  },
  "A planted cookie": {
    "packages/login/src/cookies/login-cookie-jar.test.ts": [
      "a cookie that is not as it was: the callback is refused with a reason, and nothing is sent:",
      "planted over plain http, on a site that has https",
    ],
    "packages/login/src/web-login.test.ts": [
      "what strangers send to the callback is refused with a reason, sends nothing and spends nothing:",
    ],
  },
  "A cookie planted by a neighbouring subdomain": {
    "test/browser.test.ts": ["is not logged in to a stranger's store, and can log in to the own one:"],
    "packages/login/src/cookies/login-cookie-jar.test.ts": [
      "planted by a subdomain, with %s before its name",
    ],
  },
  "A login that begins at the service's staging host and is finished at its production host": {
    "packages/login/src/web-login.test.ts": ["of %s is none of another's, at the same secret"],
    "packages/passport-retail-pos/src/single-use.test.ts": [
      "do not spend each other's states, though they share a store",
    ],
  },
  "Another person at the same browser": {
    "packages/passport-retail-pos/src/state/person.test.ts": [
      "that %s began comes back to %s: %i",
      "a store that nobody began to connect does not go to the account that they have then",
    ],
  },
  "A planted session": {
    "packages/passport-retail-pos/src/state/jars.test.ts": [
      "a session that a stranger planted holds no login of theirs",
    ],
    "packages/passport-retail-pos/src/handle-request.test.ts": [
      "cannot be regenerated: the error says what to do",
    ],
  },
  "Losing the retailer": {
    "test/processes.test.ts": ["4 times 250 callers at expiry make one token request, over several expiries"],
    "packages/core/src/tokens/stories/races.test.ts": [
      "five processes over ten expiries, answers in any order: the valid refresh token is always stored",
    ],
  },
  "A token store that forgets": {
    "packages/store-sqlite/src/file.test.ts": [
      "is noticed by the next save, removal and claim; what is read is still there",
    ],
  },
  "A token store that evicts": {
    "packages/store-redis/src/eviction.test.ts": ["is %s is warned of once"],
  },
  "Reading the token store": {
    "packages/sealed-store/src/sealed-store.test.ts": ["shows no token and no key in the bytes of the file"],
  },
  "Reading a deleted token": {
    "packages/store-sqlite/src/secure-delete.test.ts": [
      "leaves no token in the file, nor in its write-ahead log:",
    ],
  },
  "Reading a framework's cache": {
    "test/next.long.test.ts": ["of a page that is made anew every second"],
    "packages/core/src/endpoint/stories/request.test.ts": [
      "tells the fetch in use, also one of the application's own",
    ],
  },
  "A process without the encryption keys": {
    "test/sealed-records.test.ts": [
      "that %s: nothing is sent or written, each question is answered bad_stored_tokens, and the seal still opens",
    ],
  },
  "Changing the token store": {
    "packages/sealed-store/src/sealed-store.test.ts": ["a record that is not what was saved there"],
    "packages/core/src/tokens/stories/property.test.ts": [],
  },
  "Two applications on one token store": {
    "test/two-applications.test.ts": [
      "the login of the second does not replace the first's; both are told what is wrong",
    ],
  },
  "Secrets in logs": {
    "packages/core/src/tokens/stories/secrets.test.ts": ["no event and no error shows a secret:"],
    "packages/core/src/secrets/errors-without-secrets.test.ts": [
      "what the library returns shows no secret when it is printed:",
    ],
    "packages/core/src/secrets/redact.test.ts": ["takes the secret out, and leaves what stands around it:"],
    "test/canaries.long.test.ts": [],
  },
  "Filling Node's name lookups": {
    "packages/fetch/src/lookup.test.ts": [
      "exchanges ask for one name at a time; a renewal and a call ask at once",
    ],
  },
  "Another address for a host of this machine": {
    "packages/fetch/src/lookup.test.ts": ["%s is never asked of DNS"],
  },
  "An old session": {
    "examples/express-login/src/app.test.ts": [
      "a session that began before its store was disconnected",
      "two browsers of one store are both logged in, whoever of them logs out and in again",
    ],
  },
  "Filling the memory": {
    "packages/passport-retail-pos/src/state/own-states.test.ts": [
      "the number kept is bounded; the oldest go first",
    ],
    "packages/core/src/tokens/known-retailers.test.ts": [
      "there are never more than the bound, even within a minute",
    ],
    "packages/core/src/login/exchange.test.ts": [
      "that wait for an answer are bounded: 3,000 made-up retailers cost 256 requests",
      "that wait for a lock are bounded, too",
    ],
    "packages/fetch/src/lookup.test.ts": [
      "of many names that DNS says are nowhere, twenty stay in line, and the others give their places up",
    ],
    "test/bounds.long.test.ts": [],
  },
  "The client secret to a page that the doctor visits": {
    "packages/cli/src/doctor/command.test.ts": [
      "the settings of the environment are compared, and the client secret in it goes nowhere",
    ],
  },
  "A text that takes minutes to read": {
    "test/expressions.test.ts": [],
  },
  "Using up the token endpoint's rate limit": {
    "packages/core/src/tokens/stories/faults.test.ts": [
      "pauses 1 s, doubling to 60 s, each at most a fifth shorter; a success starts over",
    ],
    "packages/core/src/tokens/stories/rejected.test.ts": [
      "costs ten renewals at once, then one after a second, after two, up to once a minute",
    ],
  },
  "A forged X-Forwarded-Host": {
    "packages/passport-retail-pos/src/request/callback-url.test.ts": [
      "a relative callbackURL is resolved against the address the browser used",
      "the redirect_uri of a login is used again for its code, whatever the callback's Host says",
    ],
  },
  "Moving a request to another path by its Host": {
    "packages/login/src/node-handler.test.ts": ["with the Host %j is 400, and the handler does not see it"],
  },
  "One answer that the client reads as two": {
    "packages/login/src/node-handler.test.ts": [
      "with %s ends where it ends: the next answer on the connection is whole",
    ],
  },
  "Open redirect": {
    "packages/passport-retail-pos/src/request/callback-query.property.test.ts": [],
  },
  "A leak": {
    "test/leak.test.ts": [],
  },
  "Harmful dependencies": {
    "test/supply-chain.test.ts": [],
  },
  "RFC 9700, 4.12: redirects with 307": {
    "packages/passport-retail-pos/src/request/callback-query.test.ts": [
      "a login that starts with a POST is answered by 303",
    ],
  },
};
