/** Mentions of members in the text of comments: `@[<user id>]`. The name is looked up when the text is shown, so a new name shows. */

const mention = /@\[([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\]/g

/** Returns the ids in a text, each once, in their order. */
export function mentionsIn(text: string): string[] {
  return [...new Set(Array.from(text.matchAll(mention), ([, id = '']) => id))]
}

/** Replaces each mention. @param nameOf returns null for a person who is no longer a member */
export function withNames(text: string, nameOf: (id: string) => string | null): string {
  return text.replaceAll(mention, (whole, id: string) => {
    const name = nameOf(id)
    return name === null ? whole : `@${name}`
  })
}
