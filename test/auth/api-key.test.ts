import fc from 'fast-check'
import t from 'tap'
import { generateApiKey, redactTokens } from '../../src/auth/api-key.ts'

t.test('keys and JWTs are redacted anywhere in a text', async t => {
  const { key } = generateApiKey()
  const jwt = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl'
  for (const token of [key, jwt]) {
    for (const [before, after] of [
      ['', ''],
      ['/', '/x'],
      ['token=', '&a=b'],
      ['Bearer ', '"'],
      ['x-', ' eyJ.'],
    ] as const) {
      t.equal(redactTokens(before + token + after), `${before}[redacted]${after}`)
    }
  }
  t.equal(redactTokens(`x${jwt}`), 'x[redacted]')
  t.equal(redactTokens(`eyJ.${jwt}`), 'eyJ.[redacted]')
  t.equal(redactTokens('/a/file-eyJ.txt'), '/a/file-eyJ.txt')
  t.equal(redactTokens('stw_short eyJshort eyJshort.'), 'stw_short eyJshort eyJshort.')
})

t.test('it finds the same tokens as a simple regular expression', async t => {
  const plain = (text: string) => text.replace(/stw_\w{8,}|eyJ[\w-]+\.[\w.-]+/g, '[redacted]')
  const pieces = fc.constantFrom('eyJ', 'stw_', '.', '-', 'a', ' ', '/', 'abcdefgh', 'e', 'y')
  const texts = fc.array(pieces, { maxLength: 20 }).map(each => each.join(''))
  const keys = /stw_\w{8,}/
  fc.assert(
    fc.property(texts, text => {
      // If both overlap, either may be found first.
      if (!keys.test(text)) t.equal(redactTokens(text), plain(text), { diagnostic: false })
      t.notMatch(redactTokens(text), keys)
    }),
  )
})
