package redact

import "strings"

var (
	urlShape  = pattern(`^[a-zA-Z][a-zA-Z0-9+.-]{0,20}://\S*$`)
	hostShape = pattern(`^([\w.-]*|\[[0-9a-fA-F:.]+\])(:\d{1,5})?$`)

	// pathSchemes are schemes of stores and files, whose path is the name of a data set. Paths
	// of web addresses may be secret, as in webhooks and shared links.
	pathSchemes = set("s3 s3a gs gcs az abfs abfss wasb wasbs hdfs viewfs file hf dbfs oci r2 lakefs sqlite docker " +
		"oras shub library tcp env etcd zmq ray")
)

// redactURL keeps scheme and host and, for data sets, the path; never a user, a query or a
// fragment.
func redactURL(value string) string {
	scheme, rest, _ := strings.Cut(value, "://")
	clean := scheme + "://"
	if user, after, found := strings.Cut(rest, "@"); found && !isRepository(scheme, rest) {
		if strings.ContainsAny(user, "/?#") || strings.Contains(after, "@") {
			return clean + Hidden // a password with @ or / in it has no certain end
		}
		clean, rest = clean+Hidden+"@", after
	}
	rest, more := cutAny(rest, "?#")
	host, path, hasPath := strings.Cut(rest, "/")
	if !hostShape().MatchString(host) || !isOrdinary(host) {
		return scheme + "://" + Hidden
	}
	clean += host
	switch {
	case !hasPath:
	case path == "" || pathSchemes()[strings.ToLower(scheme)] && isPath("/"+path):
		clean += "/" + path
	default:
		clean += "/" + Hidden
	}
	if more {
		clean += "?" + Hidden
	}
	return clean
}

// isRepository distinguishes git+https://github.com/a/b@v1 from a user at a host.
func isRepository(scheme, rest string) bool {
	host, _, _ := strings.Cut(rest, "/")
	return strings.HasPrefix(scheme, "git+") && strings.Contains(host, ".") && hostShape().MatchString(host)
}

// cutAny cuts a text before the first of some characters.
func cutAny(s, chars string) (before string, found bool) {
	if at := strings.IndexAny(s, chars); at >= 0 {
		return s[:at], true
	}
	return s, false
}
