/** Encodes a value as JSON. Replaces NUL and lone surrogates in texts, which PostgreSQL cannot store. */
export function storableJson(value: unknown): string {
  return JSON.stringify(value, (_key, each) => (typeof each === 'string' ? storable(each) : each))
}

function storable(text: string): string {
  return text.replaceAll('\0', '\ufffd').toWellFormed()
}
