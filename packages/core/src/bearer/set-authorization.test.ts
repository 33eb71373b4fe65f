import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { expect, test } from "vitest";
import { setAuthorization } from "./set-authorization.js";

const theirs = "Bearer what-the-visitor-sent";
const spellings = ["authorization", "Authorization", "AUTHORIZATION", "aUthorization"];

for (const value of ["Bearer ours", undefined]) {
  for (const looksFirst of [true, false]) {
    const [how, when] = [value ? "replaced" : "removed", looksFirst ? "after" : "before"];
    test(`authorization is ${how} wherever Node keeps it, under any spelling, ${when} the first look`, async () => {
      const message = await received(spellings.map((spelling) => `${spelling}: ${theirs}`));
      if (looksFirst) {
        Object.assign(message.headers, Object.fromEntries(spellings.map((spelling) => [spelling, theirs])));
        expect(message.headersDistinct["authorization"]).toEqual(Array(4).fill(theirs));
      }
      setAuthorization(message, value);
      const ours = value !== undefined && { authorization: value };
      expect({ ...message.headers }).toEqual({ host: "a", "x-last": "1", ...ours });
      const oursAlone = value !== undefined && { authorization: [value] };
      expect({ ...message.headersDistinct }).toEqual({ host: ["a"], "x-last": ["1"], ...oursAlone });
      const pair = value === undefined ? [] : ["Authorization", value];
      expect(message.rawHeaders).toEqual(["Host", "a", "X-Last", "1", ...pair]);
    });
  }
}

/** A request as Node's server receives it. */
async function received(headers: string[]): Promise<IncomingMessage> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const arrived = new Promise<IncomingMessage>((resolve) => server.once("request", resolve));
  socket.write(["GET / HTTP/1.1", "Host: a", ...headers, "X-Last: 1", "", ""].join("\r\n"));
  const message = await arrived;
  socket.destroy();
  server.close();
  return message;
}
