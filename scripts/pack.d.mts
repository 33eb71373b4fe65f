/** Packs every package into a folder, as it would be published. Answers the tarballs' paths by the packages' names. */
export declare function packAll(folder: string): Promise<Map<string, string>>;
/** How to run pnpm with these arguments: the command, and its own. */
export declare function pnpm(args: string[]): [command: string, args: string[]];
