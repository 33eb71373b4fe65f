export const notPages: string[];
export const sidebar: { text: string; collapsed: boolean; items: { text: string; link: string }[] }[];
export function targetOf(file: string, target: string): string;
export function brokenAnchors(folder: string, base: string): string[];
