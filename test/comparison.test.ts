import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { listen } from "./support/listen.js";

// What the README and docs/comparison.md say of other packages, on the versions it names.

const bench = new URL("../bench/package.json", import.meta.url);
const installed = createRequire(bench);
const { AuthorizationCode } = installed("simple-oauth2");
const { OAuth2Client } = installed("google-auth-library");

const HOUR_MS = 3_600_000;

/** A token endpoint that answers one thing, and the refresh tokens that it was sent. */
async function tokenEndpoint(status: number, answer: object): Promise<{ origin: string; sent: string[] }> {
  const sent: string[] = [];
  const { origin, close } = await listen(async (req, res) => {
    sent.push(new URLSearchParams(await text(req)).get("refresh_token") ?? "");
    res.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(answer));
  });
  onTestFinished(close);
  return { origin, sent };
}

describe("a refresh answer without a new refresh token:", () => {
  test("simple-oauth2 forgets the old one", async () => {
    const { origin, sent } = await tokenEndpoint(200, { access_token: "next", expires_in: 3600 });
    const client = new AuthorizationCode({
      client: { id: "id", secret: "secret" },
      auth: { tokenHost: origin },
    });
    const held = client.createToken({ access_token: "first", refresh_token: "the one", expires_in: 3600 });
    await (await held.refresh()).refresh();
    expect(sent).toEqual(["the one", ""]);
  });
});

describe("google-auth-library", () => {
  async function clientAt(origin: string, livesMs: number) {
    const client = new OAuth2Client({
      clientId: "id",
      clientSecret: "secret",
      endpoints: { oauth2TokenUrl: origin },
    });
    const expiry_date = Date.now() + livesMs;
    client.setCredentials({ access_token: "first", refresh_token: "the one", expiry_date });
    return client;
  }

  test("goes on with the old refresh token where the answer brings a new one", async () => {
    const answer = { access_token: "next", expires_in: 60, refresh_token: "its successor" };
    const { origin, sent } = await tokenEndpoint(200, answer);
    const client = await clientAt(origin, -HOUR_MS);
    await client.getAccessToken();
    await client.getAccessToken(); // a minute is within its five
    expect(sent).toEqual(["the one", "the one"]);
  });

  test("fails the call where renewing fails in the last five minutes of a token that lives", async () => {
    const { origin, sent } = await tokenEndpoint(400, { error: "temporarily_unavailable" });
    const client = await clientAt(origin, 4 * 60_000);
    await expect(client.getRequestHeaders()).rejects.toThrow();
    expect(sent).toEqual(["the one"]);
  });
});

test("the versions are those that docs/comparison.md names", () => {
  const written = readFileSync(fileURLToPath(new URL("../docs/comparison.md", import.meta.url)), "utf8");
  const { dependencies } = JSON.parse(readFileSync(bench, "utf8")) as {
    dependencies: Record<string, string>;
  };
  const names = ["passport-oauth2", "simple-oauth2", "openid-client", "google-auth-library", "@slack/oauth"];
  for (const name of names) {
    const [version] = /^\d+\.\d+/.exec(dependencies[name] ?? "") ?? [];
    expect(written).toContain(`${name} ${version} |`);
  }
});
