// One history: several processes renew the tokens of several retailers on one database, something happens to it, and
// in the end every refresh token that was ever issued has to be spent, or stored, or lost in a window that is named.
import { fork } from "node:child_process";
import { once } from "node:events";
import { startService } from "./service.mjs";

const RETAILERS = Array.from({ length: 8 }, (_, nth) => `shop${nth + 1}`);
const WORKERS = 3;

/**
 * @param how `engine`; `url`, where the processes find it; `options` of its store; `happens`, told the workers, while
 * they work; `stored`, which reads the refresh token of a retailer at the end.
 * @returns how many refresh tokens were issued, and the retailers whose last one is nowhere; `wasKilled` says that only
 * a process that was killed ever had it.
 */
export async function history({ engine, url, options = {}, happens, stored, seconds = 10 }) {
  const service = await startService();
  const workers = [];
  const start = async () => {
    const worker = startWorker({ engine, url, options, service, migrates: workers.length === 0 });
    workers.push(worker);
    await worker.isReady;
    return worker;
  };
  try {
    for (let nth = 0; nth < WORKERS; nth += 1) await start();
    await workers[0].connect(RETAILERS.map((retailer) => firstSet(service.issue(retailer), retailer)));
    for (const worker of workers) worker.go();
    await sleep(2_000);
    await happens({ workers, start });
    await sleep(Math.max(0, seconds - 4) * 1000);
    await Promise.all(workers.filter(({ isAlive }) => isAlive).map((worker) => worker.stop()));
    const lost = [];
    for (const retailer of RETAILERS) {
      const last = service.issued.get(retailer).at(-1);
      if ((await stored(retailer)) === last) continue;
      const holder = workers.find(({ pid }) => pid === service.holders.get(retailer));
      lost.push({ retailer, wasKilled: holder?.isAlive === false });
    }
    const issued = [...service.issued.values()].reduce((sum, all) => sum + all.length, 0);
    return { issued, lost };
  } finally {
    for (const worker of workers) await worker.kill();
    service.close();
  }
}

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function startWorker({ engine, url, options, service, migrates }) {
  const env = {
    ...process.env,
    ENGINE: engine,
    STORE_URL: url,
    RETAILERS: RETAILERS.join(),
    OPTIONS: JSON.stringify({ baseUrl: service.baseUrl, engine: options }),
    ...(migrates && { MIGRATES: "yes" }),
  };
  const child = fork(new URL("./worker.mjs", import.meta.url), { env });
  let isAlive = true;
  child.once("exit", () => {
    isAlive = false;
  });
  return {
    pid: child.pid,
    isReady: once(child, "message"),
    get isAlive() {
      return isAlive;
    },
    async connect(sets) {
      child.send({ what: "connect", sets });
      await once(child, "message");
    },
    go: () => child.send({ what: "go" }),
    /** Resolves when every retailer was answered. */
    stop() {
      const open = new Set(RETAILERS);
      return new Promise((resolve) => {
        child.on("message", ({ retailer }) => {
          open.delete(retailer);
          if (open.size === 0) resolve();
        });
        child.once("exit", resolve);
        child.send({ what: "stop" });
      });
    },
    async kill() {
      if (!isAlive) return;
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  };
}

function firstSet({ access_token: value, refresh_token: refreshToken, expires_in: seconds }, domainPrefix) {
  const now = Date.now();
  const access = { value, expiresAt: now + seconds * 1000 };
  return { domainPrefix, access, refreshToken, issuedAt: now, version: `first-${domainPrefix}` };
}
