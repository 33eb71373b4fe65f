import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { startCommand } from "../../../test/support/command.js";
import { loginApp, loginByHand } from "../testing/login-app.js";
import { moduleFile } from "../testing/module.js";
import { expressApp, tlsPatient } from "../testing/patients.js";

// What is published is what people run.
const bin = fileURLToPath(new URL("../dist/bin.js", import.meta.url));

test("--help names each command", async () => {
  const { stdout, ended } = run("--help");
  expect(await ended).toBe(0);
  const commands = ["doctor", "list", "status", "renew-due", "disconnect", "copy", "reseal"];
  for (const command of commands) expect(stdout()).toMatch(new RegExp(`^  ${command} `, "m"));
});

test.each([[[]], [["dcotor"]], [["__proto__"]], [["--bogus"]]])(
  "%j: exit code 2, and nothing on standard output",
  async (args) => {
    const { stdout, stderr, ended } = run(...args);
    expect(await ended).toBe(2);
    expect(stdout()).toBe("");
    expect(stderr()).toMatch(/retail-pos <command>|--help/);
  },
);

test("a command that there is not: those that there are, and not what was typed", async () => {
  const { stderr, ended } = run("canary-secret");
  expect(await ended).toBe(2);
  expect(stderr()).toContain(
    "there are doctor, list, status, renew-due, disconnect, copy, seal, unseal, reseal\n",
  );
  expect(stderr()).not.toContain("canary-secret");
});

describe("doctor", () => {
  const store = "harbour-coffee";

  test("a login that is right: exit code 0, in plain text where nobody looks at a terminal", async () => {
    const { url, callback } = await loginApp();
    const { output, ended } = run("doctor", url.href, "--callback", callback);
    expect(await ended).toBe(0);
    expect(output()).toContain("Nothing found that would break a login");
    expect(output()).not.toContain("\u001b");
  });

  test("a login over https, whose certificate the command was told to trust", async () => {
    const cookie = { secure: true };
    const before = (app: { set(name: string, value: unknown): unknown }) => app.set("trust proxy", 1);
    const well = expressApp({ before, session: { secret: "any", proxy: true, cookie } });
    // As a proxy does that ends TLS.
    const app = await tlsPatient((place) => {
      const behind = well(place);
      return (req, res) => {
        req.headers["x-forwarded-proto"] = "https";
        behind(req, res);
      };
    });
    const folder = await mkdtemp(join(tmpdir(), "retail-pos-doctor-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, "ca.pem");
    await writeFile(file, app.certificate);
    const { output, ended } = runWith({ NODE_EXTRA_CA_CERTS: file }, "doctor", app.login, "--store", store);
    expect(await ended).toBe(0);
    expect(output()).toContain("Nothing found that would break a login");
    expect(app.sandbox.tokenRequests(store)).toHaveLength(1);
  });

  test("a login that is broken: exit code 1 and what to do", async () => {
    const { url, callback } = await loginApp({
      cookie: { sameSite: "strict" },
      strategy: { store: "session" },
    });
    const { output, ended } = run("doctor", "--callback", callback, url.href);
    expect(await ended).toBe(1);
    expect(output()).toMatch(/problem .*SameSite=Strict/);
    expect(output()).toContain("Fix: Set sameSite to lax.");
  });

  test("no state, cookie or query of the application is printed", async () => {
    const state = "canary-state-of-one-login";
    const { url, callback } = await loginApp({
      configure: (app) => {
        app.use((_req, res, next) => {
          res.cookie("sid", "canary-cookie");
          next();
        });
      },
      login: loginByHand(() => ({ state })),
    });
    const { output, ended } = run("doctor", `${url.href}?from=canary-query`, "--callback", callback);
    expect(await ended).toBe(1);
    expect(output()).toContain("Two logins were sent the same state");
    expect(output()).not.toContain("canary");
  });

  test("a command that makes no sense: exit code 2", async () => {
    const { output, ended } = run("doctor");
    expect(await ended).toBe(2);
    expect(output()).toMatch(/address of the login route is missing/);
  });
});

describe("a command on many retailers", () => {
  const million = fileURLToPath(new URL("../testing/million.mjs", import.meta.url));

  test("--help of each names its flags, and loads nothing", async () => {
    for (const command of ["list", "status", "renew-due", "disconnect", "copy", "reseal"]) {
      const { stdout, ended } = run(command, "--client", "./nothing.js", "--help");
      expect(await ended).toBe(0);
      expect(stdout()).toMatch(/^ {2}--client <module> .*(\n.*)*^ {2}--help /m);
    }
  });

  test("whose reader goes away stops, without a word: exit code 1", async () => {
    const { child, stderr, ended } = run("list", "--client", million);
    child.stdout.once("data", () => child.stdout.destroy());
    expect(await ended).toBe(1);
    expect(stderr()).toBe("");
  });

  test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
    "ends what is under way on %s: exit code 1",
    async (signal) => {
      const { child, printed, stdout, stderr, ended } = run("copy", "--json", "--client", million);
      await printed(/shop-99"/);
      child.kill(signal);
      expect(await ended).toBe(1);
      const lines = stdout().trimEnd().split("\n");
      for (const line of lines) expect(JSON.parse(line)).toMatchObject({ outcome: "copied" });
      expect(stderr()).toMatch(/^[\d,]+ copied, 0 failed\nretail-pos copy: stopped before the end\n$/);
    },
  );

  test("ends though the application's module keeps its connections", async () => {
    const client = "{ retailers() {}, renewDue() {}, disconnect() {}, status: async () => undefined }";
    const file = moduleFile(`setInterval(() => {}, 1000); export const client = ${client};`);
    expect(await run("status", "shop", "--client", file).ended).toBe(1);
  });

  // A loader of tests reads files in its own way, so only the real process tells how Node does.
  test.each<[string, string, string, string]>([
    ["itself", "app.mjs", "\nconst canary-1 = 1;", "Missing initializer in const declaration"],
    [
      "itself, of CommonJS,",
      "app.cjs",
      "\n\nconst canary-2 = 1;",
      "Missing initializer in const declaration",
    ],
    [
      "which imports a name that nobody exports,",
      "app.mjs",
      "import { canary3 } from 'node:path';",
      "The requested module [hidden] does not provide an export named [hidden]",
    ],
    [
      "which imports one that cannot,",
      "app.mjs",
      `import ${JSON.stringify("data:text/javascript,const canary-4 = 1;")};`,
      "Missing initializer in const declaration",
    ],
  ])("says that its module %s cannot be parsed: exit code 1", async (_which, name, text, words) => {
    const file = moduleFile(text, name);
    const { output, ended } = run("list", "--client", file);
    expect(await ended).toBe(1);
    const where = `, in ${file} or what it imports: node --check says where`;
    expect(output()).toBe(`retail-pos list: the module of --client failed: ${words}${where}\n`);
    expect(output()).not.toContain("canary");
  });

  test("says in plain words what a connection of the module's fails with: exit code 1", async () => {
    const file = moduleFile(`
      setTimeout(() => { throw new Error("lost redis://:canary-1@localhost"); }, 10);
      await new Promise((resolve) => setTimeout(resolve, 5000));`);
    const { output, ended } = run("list", "--client", file);
    expect(await ended).toBe(1);
    expect(output()).toMatch(/^retail-pos: lost \[hidden\]/);
    expect(output()).not.toContain("canary");
  });

  describe("after an error of the module's that nobody caught", () => {
    const lost = `throw new Error("lost redis://:canary-1@localhost");`;
    const clientWith = (renewDue: string) =>
      `export const client = { retailers() {}, disconnect() {}, status() {}, ${renewDue} };`;

    test("ends what is under way, tells the error once, and starts nothing new: exit code 1", async () => {
      const file = moduleFile(`
        import { setTimeout as wait } from "node:timers/promises";
        ${clientWith(`async renewDue({ signal }) {
          const failing = setInterval(() => { ${lost} }, 10);
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
          await wait(100);
          clearInterval(failing);
          console.log("the tokens are saved");
          return { seen: 2, due: 2, renewed: 1, refused: 0, failed: 0, elsewhere: 0, stopped: true };
        }`)}`);
      const { stdout, stderr, ended } = run("renew-due", "--client", file);
      expect(await ended).toBe(1);
      expect(stdout()).toMatch(/^the tokens are saved\n(.*\n)*1 renewed\n/);
      expect(stderr()).toMatch(/^retail-pos: lost \[hidden\].*\nStopped before the end: .*\n$/);
    });

    test("ends within two minutes, if what is under way does not end", async () => {
      const file = moduleFile(`
        const { setTimeout } = globalThis;
        globalThis.setTimeout = (work, ms) => setTimeout(work, ms === 120_000 ? 50 : ms);
        ${clientWith(`renewDue() {
          setTimeout(() => { ${lost} }, 10);
          return new Promise(() => {});
        }`)}`);
      const { stderr, ended } = run("renew-due", "--client", file);
      expect(await ended).toBe(1);
      expect(stderr()).toMatch(/^retail-pos: lost \[hidden\].*\n$/);
    });
  });
});

function run(...args: string[]) {
  return startCommand(bin, args);
}

function runWith(env: Record<string, string>, ...args: string[]) {
  return startCommand(bin, args, { env });
}
