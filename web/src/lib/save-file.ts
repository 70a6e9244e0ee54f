/** Milliseconds after which the browser has surely begun to save a file. */
const saveTime = 60_000

/** Lets the browser save what an address serves. @param name empty to let the server choose it */
export function save(url: string, name: string): void {
  const link = document.createElement('a')
  link.href = url
  // The name can be a text of a language that marks the direction of its values.
  link.download = name.replaceAll(/[\u2066-\u2069]/g, '')
  link.click()
}

/** Lets the browser save a file that the page has in memory. */
export function saveBlob(content: Blob, name: string): void {
  const url = URL.createObjectURL(content)
  save(url, name)
  setTimeout(() => URL.revokeObjectURL(url), saveTime)
}
