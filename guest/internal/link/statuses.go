package link

import (
	"net/http"

	"geode/guest/internal/fault"
)

// statuses has the HTTP status that goes with the code of a refusal.
var statuses = map[fault.Code]int{
	fault.Refused:         http.StatusForbidden,
	fault.InvalidInput:    http.StatusBadRequest,
	fault.InvalidPath:     http.StatusBadRequest,
	fault.TooLarge:        http.StatusRequestEntityTooLarge,
	fault.CannotEnforce:   http.StatusUnprocessableEntity,
	fault.GuestVersion:    http.StatusConflict,
	fault.ProcessNotFound: http.StatusNotFound,
	fault.SpawnFailed:     http.StatusUnprocessableEntity,
	fault.FileNotFound:    http.StatusNotFound,
	fault.FileExists:      http.StatusConflict,
	fault.FileRefused:     http.StatusForbidden,
	fault.NotAFile:        http.StatusConflict,
	fault.DiskFull:        http.StatusInsufficientStorage,
	fault.ArchiveRefused:  http.StatusBadRequest,
	fault.TunnelRefused:   http.StatusBadGateway,
	fault.Cancelled:       499,
	fault.Internal:        http.StatusInternalServerError,
}
