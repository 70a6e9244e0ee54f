/** The server limits the number of entries of an archive. */
export const maxSelected = 1000

/** Lets the browser save what an address serves. @param name empty to let the server choose it */
export function save(url: string, name: string): void {
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
}

/** Lets the browser save the response to a form. @param onFailed called if the response is not a download */
export function saveByForm(url: string, fields: Readonly<Record<string, string>>, onFailed: () => void): void {
  const frame = document.createElement('iframe')
  frame.name = `download-${Date.now()}`
  frame.hidden = true
  const form = document.createElement('form')
  Object.assign(form, { method: 'post', action: url, target: frame.name, hidden: true })
  for (const [name, value] of Object.entries(fields)) {
    const input = document.createElement('input')
    Object.assign(input, { type: 'hidden', name, value })
    form.append(input)
  }
  document.body.append(frame, form)
  // A download leaves the frame empty, so anything else that it loads is an error.
  frame.addEventListener('load', () => {
    if (frame.contentDocument?.URL === 'about:blank') return
    frame.remove()
    onFailed()
  })
  form.submit()
  form.remove()
}
