import { attackBackEnd } from './attack-back-end.ts'
import { webdav } from './back-ends.ts'

attackBackEnd('WebDAV', webdav, { every: 4 })
