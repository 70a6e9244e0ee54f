import t from 'tap'
import { attackBackEnd } from '../../hostile/attack-back-end.ts'
import { webdav } from '../../hostile/back-ends.ts'
import { withoutBackslash } from '../../hostile/corpus.ts'

attackBackEnd(t, 'WebDAV', webdav, { every: 4, shown: withoutBackslash })
