/** Packs every package into a folder, as it would be published. Answers the tarballs' paths by the packages' names. */
export declare function packAll(folder: string): Promise<Map<string, string>>;
