import { callback } from "./checks/callback.js";
import { comesBack } from "./checks/comes-back.js";
import { cookie } from "./checks/cookie.js";
import { loginRoute } from "./checks/login-route.js";
import { request } from "./checks/request.js";
import { service } from "./checks/service.js";
import type { Finding, Group } from "./findings/finding.js";
import { newProbe, type Probe, type Target } from "./probe.js";

/** Each looks at one place of the login, in the order in which a browser comes there. */
const checks: readonly [title: string, check: (probe: Probe) => Finding[] | Promise<Finding[]>][] = [
  ["Login route", loginRoute],
  ["Authorization request", request],
  ["Service", service],
  ["Cookies", cookie],
  ["Callback route", callback],
  ["Login that comes back", comesBack],
];

/**
 * Looks at a running application the way a retailer's browser meets it, up to where the retailer would
 * have to approve, and then at its callback without an approval. Nobody is logged in by it, and no code
 * or token is used up.
 */
export async function diagnose(target: Target): Promise<Group[]> {
  const probe = await newProbe(target);
  const groups: Group[] = [];
  for (const [title, check] of checks) {
    const findings = await check(probe);
    if (findings.length > 0) groups.push({ title, findings });
    // The service may be down, and the application well.
    if (check !== service) probe.isBroken ||= findings.some(({ level }) => level === "problem");
  }
  return groups;
}
