import type { RetailPos } from "@retail-pos/core";

/** Whether people may be sent to this process: not while it stops, and not while the store is away. */
export async function isReady(client: RetailPos, stopping?: AbortSignal): Promise<boolean> {
  if (stopping?.aborted) return false;
  // One look into the store; whether there is such a retailer does not matter.
  return client.status("ready").then(
    () => true,
    () => false,
  );
}
