const green = '#2e7d32'
const red = '#c62828'
/** The width of a letter in pixels. Fonts differ, so `textLength` stretches each text to the computed width. */
const letter = 6.6
const margin = 8

/** Returns an SVG image for a README: "conformance | 78 of 78". */
export function badge({ passed, failed }: { passed: number; failed: number }): string {
  const [title, result] = ['conformance', `${passed} of ${passed + failed}`]
  const [left, right] = [widthOf(title), widthOf(result)]
  const texts = [textAt(title, 0), textAt(result, left)].join('')
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${left + right}" height="20" role="img" aria-label="${title}: ${result}">
<rect width="${left}" height="20" fill="#444"/><rect x="${left}" width="${right}" height="20" fill="${failed ? red : green}"/>
<g fill="#fff" font-family="Verdana, sans-serif" font-size="11">${texts}</g>
</svg>
`
}

function widthOf(text: string): number {
  return Math.ceil(text.length * letter) + 2 * margin
}

function textAt(text: string, x: number): string {
  return `<text x="${x + margin}" y="14" textLength="${widthOf(text) - 2 * margin}">${text}</text>`
}
