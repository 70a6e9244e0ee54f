/** The path below which a proxy serves Stowage, such as "/stowage"; empty at the root. The server writes it into the page. */
export const basePath = document.querySelector<HTMLMetaElement>('meta[name="base-path"]')?.content ?? ''

/** Returns the URL of a path of the server. */
export function urlOf(path: string): string {
  return basePath + path
}
