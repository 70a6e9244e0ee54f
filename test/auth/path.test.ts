import fc from 'fast-check'
import t, { type Test } from 'tap'
import {
  childOf,
  formatPath,
  isName,
  isWithin,
  nameOf,
  parentOf,
  parseNewName,
  parseNewPath,
  parsePath,
  root,
  segmentsOf,
} from '../../src/auth/path.ts'
import { AppError } from '../../src/errors.ts'

const segment = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }).filter(isName)
const path = fc.array(segment, { minLength: 1, maxLength: 8 }).map(segments => parsePath(`/${segments.join('/')}`))

function refuses(t: Test, text: string, parse = parsePath): void {
  try {
    const parsed = parse(text)
    t.fail(`${JSON.stringify(text)} was parsed as ${JSON.stringify(parsed)}`)
  } catch (error) {
    t.match(error, { reason: 'INVALID_PATH', code: 'BAD_USER_INPUT' }, JSON.stringify(text))
  }
}

t.test('a parsed path is formatted as the same text', async () => {
  fc.assert(fc.property(path, path => parsePath(formatPath(path)) === path))
})

t.test('a path consists of its parent and its name', async () => {
  fc.assert(fc.property(path, path => childOf(parentOf(path), nameOf(path)) === path))
})

t.test('a path is within a base if it starts with the segments of the base', async () => {
  const oracle = (a: string[], b: string[]) => b.every((segment, index) => a[index] === segment)
  fc.assert(
    fc.property(path, path, fc.nat(8), (a, b, depth) => {
      const ancestor = segmentsOf(a).slice(0, depth).join('/') as typeof a
      return isWithin(a, b) === oracle(segmentsOf(a), segmentsOf(b)) && isWithin(a, ancestor) && isWithin(a, root)
    }),
  )
})

t.test('a sibling with the same prefix is not within the base', async t => {
  t.notOk(isWithin(parsePath('/backups-old'), parsePath('/backups')))
  t.notOk(isWithin(parsePath('/backups2/a'), parsePath('/backups')))
  t.ok(isWithin(parsePath('/backups/a'), parsePath('/backups')))
  t.ok(isWithin(parsePath('/backups'), parsePath('/backups')))
  t.notOk(isWithin(root, parsePath('/backups')))
})

t.test('no parsed path has an empty, "." or ".." segment', async () => {
  const hostile = fc.array(fc.constantFrom('/', '..', '.', '\\', '%2f', '%2e', '\0', 'a', ' ', 'é', '\ud800'), {
    maxLength: 12,
  })
  fc.assert(
    fc.property(hostile, parts => {
      try {
        return segmentsOf(parsePath(`/${parts.join('')}`)).every(
          s => s !== '' && s !== '.' && s !== '..' && !s.includes('\0'),
        )
      } catch (error) {
        return error instanceof AppError && error.reason === 'INVALID_PATH'
      }
    }),
    { numRuns: 2000 },
  )
})

t.test('malformed paths are refused', async t => {
  for (const text of [
    '',
    'a',
    'a/b',
    './a',
    '//',
    '/a/',
    '/a//b',
    '/.',
    '/..',
    '/../a',
    '/a/../b',
    '/a/./b',
    '/a\0b',
    '/\ud800',
  ]) {
    refuses(t, text)
  }
  refuses(t, `/${'a'.repeat(1025)}`)
  refuses(t, '/abcdefg'.repeat(600))
})

t.test('a new path has a bounded number of names', async t => {
  const most = '/a'.repeat(256)
  t.equal(formatPath(parseNewPath(most)), most)
  refuses(t, `${most}/a`, parseNewPath)
  t.equal(formatPath(parsePath(`${most}/a`)), `${most}/a`, 'an existing one can be deeper')
})

t.test('names that could be misread are allowed in existing paths and refused in new ones', async t => {
  for (const name of [
    'a\\b',
    '..\\b',
    '%2e%2e',
    '%2E.',
    '.%2e',
    'a%2fb',
    'a%252Fb',
    'a%25255cb',
    'a%00b',
    'a\nb',
    '\u007f',
  ]) {
    t.equal(formatPath(parsePath(`/${name}`)), `/${name}`)
    refuses(t, `/${name}`, parseNewPath)
    refuses(t, `/${name}/x`, parseNewPath)
    t.throws(() => parseNewName(name))
  }
  for (const name of [
    '100%',
    '50%25.txt',
    'a%20b',
    '#?%&+',
    ' a ',
    '-rf',
    '.hidden',
    'é',
    'e\u0301',
    '🗄️',
    '\'"',
    '...',
  ]) {
    t.equal(formatPath(parseNewPath(`/${name}`)), `/${name}`)
  }
})

t.test('Unicode normal forms are different names', async t => t.not(parsePath('/é'), parsePath('/e\u0301')))
