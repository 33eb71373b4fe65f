import type { Service } from "./environment.js";

/** What browsers are told about our answers: options of helmet. */
export function secureHeaders({ authUrl, redirectUri }: Pick<Service, "authUrl" | "redirectUri">) {
  return {
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'self'"],
        baseUri: ["'none'"],
        // A form of ours may start a login, and a browser asks this of every redirect that follows.
        formAction: ["'self'", ...(authUrl ? [new URL(authUrl).origin] : [])],
        frameAncestors: ["'none'"],
        objectSrc: ["'none'"],
      },
    },
    // Not no-referrer, helmet's default: browsers would send `Origin: null` with our own forms.
    referrerPolicy: { policy: "same-origin" as const },
    // For this host alone: others below it may not have TLS yet.
    strictTransportSecurity: redirectUri.startsWith("https:") && { includeSubDomains: false },
    xFrameOptions: { action: "deny" as const },
  };
}
