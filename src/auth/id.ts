const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** What cannot be an id is not looked up. */
export function isId(text: string): boolean {
  return uuid.test(text)
}
