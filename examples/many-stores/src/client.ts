import { type RetailPos, type RetailPosOptions, retailPos } from "@retail-pos/core";
import type { Service } from "./environment.js";

/** The client of the service, as the server and the nightly job make it: on the same tokens. */
export function openClient(service: Service, more: Partial<RetailPosOptions>): RetailPos {
  const { authUrl, baseUrl, clientId, clientSecret, redirectUri, scope } = service;
  return retailPos({ authUrl, baseUrl, clientId, clientSecret, redirectUri, scope, ...more });
}
