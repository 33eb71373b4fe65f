import { expect, test } from "vitest";
import { type Call, callOf } from "./call-facts.js";
import { Hosts } from "./hosts.js";

const call = callOf("https://corner-store.retail.example/api/products", undefined) as Call;

test("a host is remembered until its call has ended, though its connection is free: it may have to wait", async () => {
  const hosts = new Hosts({ perHost: 1, wait429Ms: 1000 });
  const host = hosts.of(call);
  await host.start(host.place(true), undefined, false);
  host.left();
  expect(hosts.of(call)).toBe(host);
  host.ended();
  expect(hosts.of(call)).not.toBe(host);
});

test("a host is remembered until its connection is free, though its call has ended: somebody reads", async () => {
  const hosts = new Hosts({ perHost: 1, wait429Ms: 0 });
  const host = hosts.of(call);
  await host.start(host.place(false), undefined, false);
  host.ended();
  expect(hosts.of(call)).toBe(host);
  host.left();
  expect(hosts.of(call)).not.toBe(host);
});
