import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { reasons } from '../../src/errors.ts'
import { errorText, wordsByReason } from '../../web/src/texts/errors.ts'

/** Words of the API that the console never uses. */
const apiWords =
  /provider|credential\b|\bscope|base path|back end|adapter|conflict behavior|percent-enc|graphql|header/i

t.test('the catalog has words for every reason, and for no other', async t => {
  t.same(Object.keys(wordsByReason).sort(), Object.keys(reasons).sort())
})

t.test('words of the API never reach people', async t => {
  const messages = [
    'The provider is not ready.',
    'Choose another conflict behavior.',
    'A new name cannot contain a percent-encoded separator.',
    'This requires the scope "write".',
    'The back end or its adapter returned an invalid result.',
    'The job is SUCCEEDED, so this has no effect.',
    'Give "recursive: true" to delete everything.',
    '"targetName" is only for a job with one source.',
    '"first" is a number from 1 to 1000.',
  ]
  for (const [reason, { meaning }] of [...Object.entries(reasons), ['OF_A_NEWER_SERVER', { meaning: '' }] as const]) {
    const texts = [meaning, ...messages].map(message => errorText({ reason, message }))
    // Administrators read which settings of a storage are wrong, by their names.
    for (const text of reason === 'INVALID_CONFIG' ? texts.slice(0, 1) : texts) {
      t.notMatch(text, apiWords, reason)
      t.notMatch(text, /recursive|SUCCEEDED|targetName|"first"/, reason)
    }
    if (meaning) t.match(texts[0], /^[A-Z].+\.$/, reason)
  }
})

t.test('the texts of errors come from the catalog alone', async t => {
  const folder = join(import.meta.dirname, '../../web/src')
  const files = (await readdir(folder, { recursive: true })).filter(file => /\.tsx?$/.test(file))
  const readers = []
  for (const file of files) {
    const source = await readFile(join(folder, file), 'utf8')
    if (/\b(?:error|cause)\??\.message\b/.test(source)) readers.push(file)
  }
  // The page throws errors of its own, whose texts are in the catalog.
  t.same(readers.sort(), ['ui/error-box.tsx'])
})

t.test('people read what the server knows about the case', async t => {
  const textOf = (reason: string, message: string, more: object = {}) => errorText({ reason, message, ...more })
  const taken = '"/provider/the first.txt" exists: choose another name.'
  t.equal(textOf('ALREADY_EXISTS', taken), taken, 'although a name has a word of the API')
  t.equal(textOf('RATE_LIMITED', '', { retryAfterMs: 30_000 }), 'There were too many requests. Try again in 30 s.')
  t.equal(textOf('RATE_LIMITED', ''), 'There were too many requests. Try again later.')
  t.match(textOf('TOO_LARGE', '', { extensions: { maxBytes: 5_000_000 } }), /up to 5\.00 MB/)
  t.match(textOf('SCOPE_REQUIRED', '', { extensions: { requiredScope: 'admin' } }), /Only administrators/)
})
