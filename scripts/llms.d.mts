/** The text of llms.txt for a README. */
export function llmsText(readme: string): string;
