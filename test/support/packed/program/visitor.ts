export type Visit = (url: string | URL) => Promise<Response>;

/** A person's browser, as small as it can be: one cookie jar, and no redirect is followed. */
export function visitor(): Visit {
  const cookies = new Map<string, string>();
  return async (url) => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(url, { redirect: "manual", headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (name !== undefined && value !== undefined) cookies.set(name, value);
    }
    return response;
  };
}
