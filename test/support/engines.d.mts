/** The file of a namespace. */
export declare function sqliteFile(namespace: string): string;
