import t from 'tap'
import { attackBackEnd } from '../../hostile/attack-back-end.ts'
import { ftp } from '../../hostile/back-ends.ts'
import { namesAllowedBy } from '../../hostile/corpus.ts'

// A listing has one name in each line.
attackBackEnd(t, 'FTP', ftp, { every: 4, names: namesAllowedBy({ forbiddenInNames: '\r\n\\' }) })
