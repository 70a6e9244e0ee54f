/** Paths of storages and of this machine. */
import t from 'tap'
import { parseOperand } from '../../packages/cli/src/operand.ts'
import { barText } from '../../packages/cli/src/terminal/bar.ts'

t.test('an operand is a stream, a path of a storage or a local path', async t => {
  const remote = (storage: string, path: string, isFolder = false) => ({ kind: 'remote', storage, path, isFolder })
  const local = (path: string, isFolder = false) => ({ kind: 'local', path, isFolder })
  const expected = {
    '-': { kind: 'stream' },
    'Disk:': remote('Disk', '/', true),
    'Disk:/': remote('Disk', '/', true),
    'Disk:/a b/c.txt': remote('Disk', '/a b/c.txt'),
    'Disk:/a//': remote('Disk', '/a', true),
    'Disk:/a:b': remote('Disk', '/a:b'),
    'Disk:/a:/b': remote('Disk', '/a:/b'),
    'Team disk:/a': remote('Team disk', '/a'),
    'a:b:/c': remote('a:b', '/c'),
    'a:b:': remote('a:b', '/', true),
    'ü:/\n': remote('ü', '/\n'),
    a: local('a'),
    './a:b': local('./a:b'),
    '/a:/b': local('/a:/b'),
    'a/b:/c': local('a/b:/c'),
    'a/': local('a', true),
    '/': local('/', true),
    '.': local('.'),
  }
  for (const [text, operand] of Object.entries(expected)) t.same(parseOperand(text), operand, JSON.stringify(text))
  for (const text of ['', ':', ':/a', 'Disk:a', 'Disk::/a', 'Disk:a/b']) {
    t.throws(() => parseOperand(text), { name: 'CommandError' }, JSON.stringify(text))
  }
})

t.test('a bar shows the share, the rate and the time that is left', async t => {
  const state = { files: 3, bytes: 45_000_000, totalFiles: 10, totalBytes: 100_000_000, bytesPerSecond: 5_000_000 }
  t.equal(barText(state), '[=========           ]  45%  45.0 MB of 100.0 MB  3 of 10 files  5.0 MB/s  0:11 left')
  t.equal(barText({ ...state, totalFiles: null, totalBytes: null }), '45.0 MB  3 files  5.0 MB/s')
  t.match(barText({ ...state, bytes: 0, totalBytes: 0, bytesPerSecond: 0 }), /100%.*0 B of 0 B/)
  t.match(barText({ ...state, bytesPerSecond: 1000 }), /15:16:40 left$/)
})
