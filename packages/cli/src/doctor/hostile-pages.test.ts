import { expect, test } from "vitest";
import { expressApp, patient } from "../../testing/patients.js";
import { run } from "../../testing/terminal.js";

// Pages on which a careless expression takes minutes, 64 kB each. Each of these tests ends; none measures how soon.

const pageOf = (piece: string) => piece.repeat(Math.ceil(65_536 / piece.length));

test.each(
  ["a.a.a.", "a1", "<", "<input ", "<input type ", "<script", "<script>", "</script ", "\n", " ", "&nbsp;"]
    .concat([
      "Error",
      "Error: ",
      "state ",
      "state_",
      "callbackURL ",
      "The token endpoint of retailer ",
      "scope",
    ])
    .concat([
      '{"message":',
      '{"error":{"message":"a.a.a."}}',
      "://@",
      "Uncaught ",
      "AError",
      "type=",
      "Redis ",
    ]),
)("a login route and a callback that answer with 64 kB of %j are diagnosed", async (piece) => {
  const page = pageOf(piece);
  for (const status of [200, 401, 500]) {
    const login = await patient(
      expressApp({ login: () => (_req, res) => void res.status(status).send(page) }),
    );
    expect((await run(["doctor", login.login])).stdout).toContain("Login route");
    const back = await patient(
      expressApp({
        callback: () => (_req, res) => void res.status(status === 200 ? 403 : status).send(page),
      }),
    );
    expect((await run(["doctor", back.login, "--store", "harbour-coffee"])).stdout).toContain(
      "Callback route",
    );
  }
});
