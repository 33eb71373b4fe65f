import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { type Listening, listen } from "./listen.js";

/** What a request brought: all that a service could repeat. */
interface Said {
  readonly form: URLSearchParams;
  readonly authorization: string;
  /** Form and header in one. */
  readonly all: string;
}

type Answer = (res: ServerResponse, said: Said, issued: object) => void;

/** A service that answers what it is told to, and likes to repeat what it heard. */
export interface TalkativeService extends Listening {
  /** Answers of the token endpoint and of the API from now on. */
  tokenEndpoint: keyof typeof tokenAnswers;
  api: keyof typeof apiAnswers;
  /** Everything it heard, where secrets belong. */
  readonly heard: string[];
}

const LIFETIME_S = 3600;

export async function talkativeService(tokens: {
  access: string;
  refresh: string;
}): Promise<TalkativeService> {
  const { access: access_token, refresh: refresh_token } = tokens;
  const issued = { access_token, refresh_token, token_type: "Bearer", expires_in: LIFETIME_S };
  const heard: string[] = [];
  const service: TalkativeService = Object.assign(
    await listen(async (req, res) => {
      const said = await whatIsSaid(req);
      heard.push(said.all);
      const isToken = req.url?.endsWith("/api/1.0/token") === true;
      const answer: Answer = isToken ? tokenAnswers[service.tokenEndpoint] : apiAnswers[service.api];
      answer(res, said, issued);
    }),
    { tokenEndpoint: "issues" as const, api: "serves" as const, heard },
  );
  return service;
}

async function whatIsSaid(req: IncomingMessage): Promise<Said> {
  const body = await text(req);
  const { authorization = "" } = req.headers;
  return { form: new URLSearchParams(body), authorization, all: `${body} ${authorization}` };
}

function json(res: ServerResponse, status: number, body: unknown): void {
  res.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

/** Repeats everything, in every place of an answer that a client may look at. */
function repeat(status: number, error?: string): Answer {
  return (res, { form, all }) => {
    const words = `${all} ${[...form.values()].join(" ")}`;
    for (const name of [
      "location",
      "www-authenticate",
      "x-ratelimit-reset",
      "retry-after",
      "server",
      "x-request",
    ])
      res.setHeader(name, encodeURI(words));
    res.statusMessage = encodeURI(words).slice(0, 200);
    json(res, status, {
      error: error ?? words,
      error_description: words,
      error_uri: words,
      form: Object.fromEntries(form),
    });
  };
}

const tokenAnswers = {
  issues: (res, _, issued) => json(res, 200, issued),
  "400 that repeats": repeat(400),
  "400 invalid_grant that repeats": repeat(400, "invalid_grant"),
  "400 invalid_request that repeats": repeat(400, "invalid_request"),
  "401 invalid_client that repeats": repeat(401, "invalid_client"),
  "403 that repeats": repeat(403),
  "429 that repeats": repeat(429),
  "500 that repeats": repeat(500),
  "503 temporarily_unavailable that repeats": repeat(503, "temporarily_unavailable"),
  "307 that repeats": repeat(307),
  "200 that repeats as a page": (res, { all }) => void res.end(`<p>${all}</p>`),
  "200 that repeats as JSON": repeat(200),
  "200 with half the tokens": (res, _, issued) => void res.end(JSON.stringify(issued).slice(0, -20)),
  "200 that breaks off": (res, _, issued) => {
    const body = JSON.stringify(issued);
    res.writeHead(200, { "content-length": String(body.length + 10) });
    res.write(body, () => res.destroy());
  },
  "200 without an access token": (res, _, issued) => json(res, 200, { ...issued, access_token: [issued] }),
  "200 of another retailer": (res, _, issued) => json(res, 200, { ...issued, domain_prefix: "other" }),
  "200 with a secret as retailer": (res, { form }, issued) =>
    json(res, 200, { ...issued, domain_prefix: form.get("client_secret") }),
  "200 with secrets in odd fields": (res, { all }, issued) =>
    json(res, 200, { ...issued, token_type: all, expires_in: all, expires: all, scope: all }),
  reset: (res) => void res.socket?.resetAndDestroy(),
  silence: () => {},
} satisfies Record<string, Answer>;

const apiAnswers = {
  serves: (res) => json(res, 200, { data: [] }),
  "401 that repeats": repeat(401),
  "500 that repeats": repeat(500),
  reset: (res) => void res.socket?.resetAndDestroy(),
} satisfies Record<string, Answer>;

export const tokenEndpointCases = Object.keys(tokenAnswers) as (keyof typeof tokenAnswers)[];
export const apiCases = Object.keys(apiAnswers) as (keyof typeof apiAnswers)[];
