// One call of a store's API by everybody: each takes the template and gives `(prefix, path) => Promise<text>`. Each
// loads its own library alone.
const BEARER = "a".repeat(64);
const headers = { authorization: `Bearer ${BEARER}` };

/** Connections are kept for as long as a round takes: what is measured then is a call, not a connection. */
const keepAliveMs = 600_000;

export const callers = {
  fetch: (template) => throughFetch(template, globalThis.fetch),

  async retailFetch(template) {
    const { retailFetch } = await import("@retail-pos/fetch");
    return throughFetch(template, retailFetch({ keepAliveMs }));
  },

  /** As it comes: connections are kept for ten seconds. */
  async retailFetchByDefault(template) {
    const { retailFetch } = await import("@retail-pos/fetch");
    return throughFetch(template, retailFetch());
  },

  /** What is left once they are closed, for who does not want to wait for it. */
  async retailFetchBriefly(template) {
    const { retailFetch } = await import("@retail-pos/fetch");
    return throughFetch(template, retailFetch({ keepAliveMs: 500 }));
  },

  async ours(template) {
    const { retailFetch } = await import("@retail-pos/fetch");
    return throughClient(template, retailFetch({ keepAliveMs }));
  },
};

function throughFetch(template, fetch) {
  return async (prefix, path) => (await fetch(addressOf(template, prefix) + path, { headers })).text();
}

async function throughClient(template, fetch) {
  const { personalToken } = await import("@retail-pos/core");
  const clients = new Map();
  return async (prefix, path) => {
    let client = clients.get(prefix);
    if (!client) {
      client = personalToken({ baseUrl: template, domainPrefix: prefix, token: BEARER, fetch });
      clients.set(prefix, client);
    }
    return (await client.fetch(path)).text();
  };
}

const addressOf = (template, prefix) => template.replace("{domain_prefix}", prefix);
