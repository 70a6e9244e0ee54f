import t from 'tap'
import { attackBackEnd } from './attack-back-end.ts'
import { webdav } from './back-ends.ts'
import { withoutBackslash } from './corpus.ts'

attackBackEnd(t, 'WebDAV', webdav, { every: 4, shown: withoutBackslash })
