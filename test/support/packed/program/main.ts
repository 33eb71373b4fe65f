import { coreAlone } from "./core-alone.js";
import { expressLogin, koaLogin } from "./logins.js";
import { otherBearers } from "./other-bearers.js";
import { stores } from "./stores.js";

// What somebody who installed the packages would write. test/packed.long.test.ts runs it as an ES module and as
// CommonJS.

async function main(): Promise<void> {
  for (const story of [coreAlone, expressLogin, koaLogin, otherBearers, stores]) {
    await story();
    console.log(`${story.name}: well`);
  }
}

void main();
