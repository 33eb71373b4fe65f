// One of the processes of a long run: it does the jobs that it is sent, one after the other.
import { coreText } from "./core.js";
import { doJob, type Job } from "./jobs.js";
import { Runs } from "./runs.js";

const runs = new Runs(await coreText());
process.on("message", async (job: Job) => process.send?.(await doJob(runs, job)));
process.on("unhandledRejection", (reason) => {
  console.error("A promise was rejected and nobody listened:", reason);
  process.exit(1);
});
process.on("disconnect", () => process.exit());
process.send?.("ready");
