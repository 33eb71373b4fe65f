export declare function cutProxy(
  address: string,
  defaultPort: number,
): Promise<{
  /** Leads to the service through the proxy. */
  readonly url: string;
  shut(): void;
  open(): void;
  close(): Promise<void>;
}>;
